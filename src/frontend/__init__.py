"""What the user touches: tensors, functions, the tape, recording and `compile`."""
