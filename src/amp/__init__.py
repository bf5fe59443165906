"""Automatic mixed precision: autocast regions and gradient scaling, in torch.amp's names."""

from ..frontend.autocast import autocast as autocast
from . import state as state
from .functions import custom_bwd as custom_bwd, custom_fwd as custom_fwd
from .functions import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler
