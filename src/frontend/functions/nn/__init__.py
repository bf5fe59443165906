"""The functions of torch.nn.functional, in families; `treadle.nn.functional` shows them together."""
