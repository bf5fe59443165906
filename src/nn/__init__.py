"""Neural networks: modules, their parameters, initialisation and utilities, in torch.nn's names."""
