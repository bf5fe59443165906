"""Optimizers and learning-rate schedulers, in torch.optim's names."""

from .adam import Adam as Adam, AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
