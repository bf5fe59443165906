"""The layers, in files of torch.nn.modules' names."""
