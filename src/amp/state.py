"""The thread's autocast state, for whoever has to ask."""

from ..frontend.autocast import cast_inputs as cast_inputs, cast_list as cast_list, state as state
