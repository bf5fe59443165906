"""state_dict and load_state_dict: keys, metadata, errors, hooks, extra state, versions."""

from __future__ import annotations

import pytest


def net(T, size=3):
    T.manual_seed(0)
    return T.nn.Sequential(T.nn.Linear(2, size), T.nn.BatchNorm1d(size), T.nn.Linear(size, 1))


def test_state_dict_is_detached_and_shares_memory(T):
    m = net(T)
    state = m.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var",
                           "1.num_batches_tracked", "2.weight", "2.bias"]
    assert not state["0.weight"].requires_grad and type(state["0.weight"]) is T.Tensor
    state["0.weight"].fill_(3)
    assert float(m[0].weight.detach().min()) == 3
    assert m.state_dict(keep_vars=True)["0.weight"] is m[0].weight
    assert list(m[0].state_dict(prefix="x.")) == ["x.weight", "x.bias"]
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}, "2": {"version": 1}}


def test_load_copies_or_assigns(T):
    a, b = net(T), net(T)
    with T.no_grad():
        a[0].weight.fill_(5)
    kept = b[0].weight
    found = b.load_state_dict(a.state_dict())
    assert repr(found) == "<All keys matched successfully>" and found.missing_keys == []
    assert b[0].weight is kept and float(kept.detach().min()) == 5
    b.load_state_dict(a.state_dict(), assign=True)
    assert b[0].weight is not kept and isinstance(b[0].weight, T.nn.Parameter) and b[0].weight.requires_grad
    missing, unexpected = b.load_state_dict({"0.weight": a[0].weight, "y": 1}, strict=False)
    assert missing == ["0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
                       "2.weight", "2.bias"] or "1.num_batches_tracked" not in missing
    assert unexpected == ["y"]


def test_errors_are_listed_together(T):
    state = net(T).state_dict()
    del state["2.bias"]
    state["0.extra"], state["new.weight"], state["0.weight"] = T.ones(1), T.ones(1), T.ones(4, 2)
    state["0.bias"] = 3
    with pytest.raises(RuntimeError) as caught:
        net(T).load_state_dict(state)
    assert str(caught.value) == (
        'Error(s) in loading state_dict for Sequential:\n'
        '\tMissing key(s) in state_dict: "2.bias". \n'
        '\tUnexpected key(s) in state_dict: "new.weight", "0.extra". \n'
        '\tsize mismatch for 0.weight: copying a param with shape torch.Size([4, 2]) from checkpoint, the shape in '
        'current model is torch.Size([3, 2]).\n'
        '\tWhile copying the parameter named "0.bias", expected torch.Tensor or Tensor-like object from checkpoint '
        "but received <class 'int'>")
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got"):
        net(T).load_state_dict(3)


def test_old_checkpoints_have_no_count_of_batches(T):
    state = dict(net(T).state_dict())
    del state["1.num_batches_tracked"]
    net(T).load_state_dict(state)


def test_one_element_loads_into_zero_dims(T):
    m = T.nn.Module()
    m.s = T.nn.Parameter(T.tensor(1.0))
    m.load_state_dict({"s": T.tensor([4.0])})
    assert float(m.s.detach()) == 4


def test_hooks(T):
    m, seen = net(T), []
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(("pre", prefix, keep)))
    m.register_state_dict_post_hook(lambda mod, state, prefix, meta: state.update(extra=T.ones(1)))
    m._register_state_dict_hook(lambda mod, state, prefix, meta: seen.append(sorted(meta)))
    state = m.state_dict()
    assert seen == [("pre", "", False), ["version"]] and "extra" in state
    m.register_load_state_dict_pre_hook(lambda mod, state, *rest: state.pop("extra"))
    m.register_load_state_dict_post_hook(lambda mod, keys: seen.append((mod is m, keys.missing_keys)))
    m.load_state_dict(state)
    assert seen[-1] == (True, [])
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.append("made up"))
    with pytest.raises(RuntimeError, match=r'Missing key.* "made up"'):
        m.load_state_dict(state)


def test_public_post_hook_returns_nothing(T):
    m = net(T)
    m.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        m.state_dict()


def test_extra_state(T):
    class Extra(T.nn.Module):
        kept = 0

        def get_extra_state(self):
            return {"kept": self.kept}

        def set_extra_state(self, state):
            self.kept = state["kept"]

    a, b = T.nn.Sequential(Extra()), T.nn.Sequential(Extra())
    a[0].kept = 7
    state = a.state_dict()
    assert dict(state) == {"0._extra_state": {"kept": 7}}
    b.load_state_dict(state)
    assert b[0].kept == 7
    with pytest.raises(RuntimeError, match=r'Missing key.*"0._extra_state"'):
        b.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key.*"0._extra_state"'):
        T.nn.Sequential(T.nn.ReLU()).load_state_dict(state)


def test_overridden_loading(T):
    class Renamed(T.nn.Linear):
        def _load_from_state_dict(self, state_dict, prefix, *rest):
            if prefix + "old" in state_dict:
                state_dict[prefix + "weight"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, *rest)

    m = T.nn.Sequential(Renamed(1, 1, bias=False))
    m.load_state_dict({"0.old": T.ones(1, 1) * 9})
    assert float(m[0].weight.detach()) == 9


def test_reading_torchs_checkpoint_of_instance_norm(T):
    m = T.nn.InstanceNorm1d(2)
    with pytest.raises(RuntimeError, match=r'Unexpected running stats buffer.*"?running_mean"?'):
        m.load_state_dict({"running_mean": T.zeros(2), "running_var": T.ones(2)})
