"""Scatters in Triton: each row writes its elements one after the other."""

from __future__ import annotations

from .loops import Store, Walk
from .triton_form import Form


class ScatterForm(Form):
    """Elements written one after the other by each row, so that the result is that of writing them in order."""

    def points(self, number: int, walk: Walk) -> None:
        with self.block(f"for step in range(0, {self.names.size(walk.size)}):"):
            self.put(f"r{number} = step + pid * 0")  # the interpreter's loops count in plain integers
            self.digits_of_segment(number)
            self.values_of[number] = {}
            with self.segment(number, walk):
                self.body(number, walk)

    def store(self, s: Store) -> None:
        if not s.mode:
            super().store(s)
            return
        dims = self.dims_at(s.offset) | self.dims(s.value)
        place, mask = self.place(s.offset, dims), self.mask(dims, *self.inside(s.offset))
        value = self.names.alone(s.value, self.name)
        if s.mode != "set":
            old = self.fresh("s")
            self.put(f"{old} = {self.names.load(s.slot, place, mask)}")
            made = self.names.verb(s.mode, self.nest.slots[s.slot], old, value)
            value = self.fresh("s")
            self.put(f"{value} = {made}")
        self.put("tl.debug_barrier()")
        self.put(self.names.store(s.slot, place, value, mask))
        self.put("tl.debug_barrier()")
