"""Compiled equals eager where that is hard: aliasing, autograd, state; each case says its mode too.

A case is a program run six times with changes between (see loud_*.py). All but those in LAZY must have been
replayed as a graph; none may fall back to the interpreter.
"""

import loud_aliasing
import loud_autograd
import loud_outside
import loud_state
import pytest
from loud import run
from stepping import same

CASES = {**loud_aliasing.CASES, **loud_autograd.CASES, **loud_outside.CASES, **loud_state.CASES}
# replayed or not by which call comes first to stand: equal in both cases
EITHER = frozenset({"grad_arg"})
LAZY = frozenset(  # no call was a replay: their Python runs each time, or each call differs from all before
    """
    numpy_shared_first numpy_inside numpy_from_inside transpose_inplace data_setter_inside noncontig_arg
    dict_identity list_shared_result list_arg_append version_read leaf_inplace inplace_on_nonleaf_input
    inplace_grad_value retain_inside retain_outside backward_outer detach_inplace requires_grad_inside
    leaf_made leaf_made_const tensor_attr numpy_arg3 lazy_oob fail_py_effect float_arg int_arg obj_arg_many objs
    user_adam branch_after_write branch_after_dropout setattr_module
    """.split()
)


@pytest.fixture(autouse=True)
def _failed_compiles_are_errors():
    from treadle.frontend import engine

    engine.strict[0] = True
    yield
    engine.strict[0] = False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name):
    eager, _ = run(CASES[name], False)
    got, functions = run(CASES[name], True)
    same(eager, got, rtol=1e-4)
    counts = [f.explain().counts for f in functions]
    assert not any(c["fallbacks"] for c in counts)
    replayed = all(c["replays"] for c in counts)
    if name not in EITHER:
        assert replayed is (name not in LAZY), [str(f.explain()) for f in functions]
