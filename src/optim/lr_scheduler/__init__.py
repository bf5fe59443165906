"""Learning-rate schedulers, in torch.optim.lr_scheduler's names."""

from .base import LRScheduler as LRScheduler, _LRScheduler as _LRScheduler
from .combined import ChainedScheduler as ChainedScheduler, SequentialLR as SequentialLR
from .cycles import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from .formulas import (
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from .plateau import ReduceLROnPlateau as ReduceLROnPlateau
