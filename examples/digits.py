"""A classifier of handwritten digits: the whole training step compiled, beside the same step run eagerly.

    python examples/digits.py                      # about half a minute
    python examples/digits.py --page report.html   # and what was compiled, kernels beside these lines
"""

import argparse
import gzip
import hashlib
import statistics
import sys
import time
from pathlib import Path

BEGUN = time.perf_counter()

import treadle as torch
import treadle.nn.functional as F
from treadle import nn
from treadle.progress import Bar

IMPORTED = time.perf_counter() - BEGUN
DATA = Path(__file__).parent / "data" / "digits.csv.gz"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
BATCH, EPOCHS, TEST, SEED = 64, 15, 360, 0
ENOUGH = 0.97  # of the test images


def load():
    """Returns training images, labels, test images, labels; the split is the seed's."""
    packed = DATA.read_bytes()
    if hashlib.sha256(packed).hexdigest() != SHA256:
        sys.exit(f"{DATA} is not the file that this example was written for: its SHA-256 differs")
    rows = [list(map(int, line.split(b","))) for line in gzip.decompress(packed).splitlines()]
    torch.manual_seed(SEED)
    table = torch.tensor(rows)[torch.randperm(len(rows))]
    images, labels = table[:, :64].reshape(-1, 1, 8, 8) / 16, table[:, 64]
    return images[TEST:], labels[TEST:], images[:TEST], labels[:TEST]


class Digits(nn.Module):
    """Two convolutions, then two layers; images in, a score for each digit out."""

    def __init__(self):
        super().__init__()
        # no bias before a batch norm: its gradient is 0, and Adam would make steps of the rounding noise
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32)
        self.hidden, self.drop, self.out = nn.Linear(32 * 4 * 4, 96), nn.Dropout(0.3), nn.Linear(96, 10)

    def forward(self, images):
        x = F.relu(self.norm1(self.conv1(images)))
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        x = F.relu(self.hidden(x.flatten(1)))
        return self.out(self.drop(x))


def make_model():
    """Returns the network with the seed's weights."""
    torch.manual_seed(SEED)
    return Digits()


def make_step(model, steps):
    """Returns one whole training step of `model`, as a plain function."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)

    def step(images, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss

    return step


def batches(images, labels, epochs):
    """Yields shuffled batches, epoch after epoch; the last one of each is smaller."""
    shuffle = torch.Generator().manual_seed(SEED)
    for _ in range(epochs):
        for places in torch.randperm(len(images), generator=shuffle).split(BATCH):
            yield images[places], labels[places]


def accuracy(model, images, labels):
    """Returns the share of images that the model reads right."""
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def run(step, data, bar):
    """Returns each batch's loss, and the seconds its step took."""
    losses, seconds = [], []
    for images, labels in data:
        begun = time.perf_counter()
        losses.append(step(images, labels).item())
        seconds.append(time.perf_counter() - begun)
        bar.advance(note=f"loss {losses[-1]:.4f}")
    return losses, seconds


def print_both(eager, compiled, shown=(1, 2, 3, 5, 10, 20, 40)):
    """Prints both runs' losses side by side, and by how much they differ."""
    print("\n  step   eager      compiled   difference")
    for n in shown:
        if n <= len(eager):
            print(f"  {n:4}   {eager[n - 1]:.6f}   {compiled[n - 1]:.6f}   {abs(eager[n - 1] - compiled[n - 1]):.1e}")
    largest = max(abs(a - b) for a, b in zip(eager, compiled, strict=False))
    print(f"  largest difference in {len(eager)} steps: {largest:.1e}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--eager-steps", type=int, default=40, help="steps to run eagerly for comparison")
    parser.add_argument("--start", action="store_true", help="only take a few steps and say how long the start took")
    parser.add_argument("--page", type=Path, help="write what was compiled to this HTML file")
    args = parser.parse_args()

    images, labels, test_images, test_labels = load()
    steps = args.epochs * -(-len(images) // BATCH)
    if args.start:
        step = torch.compile(make_step(make_model(), steps))
        print_start(step, run(step, head(images, labels, 5), Bar(5))[1])
        return
    print(f"{len(images)} images to train on, {len(test_images)} to test on; {steps} steps")

    model = make_model()
    with Bar(args.eager_steps, "eager   ") as bar:
        eager, eager_seconds = run(make_step(model, steps), head(images, labels, args.eager_steps), bar)
    model = make_model()  # the same weights again, and dropout draws the same numbers
    step = torch.compile(make_step(model, steps))
    with Bar(steps, "compiled") as bar:
        compiled, seconds = run(step, batches(images, labels, args.epochs), bar)
    print_both(eager, compiled)
    slow, fast = statistics.median(eager_seconds), statistics.median(seconds)
    print(f"  a step   eager {slow * 1e3:.2f} ms, compiled {fast * 1e3:.2f} ms: {slow / fast:.1f} times faster")
    print_start(step, seconds)
    if args.page:
        args.page.write_text(step.explain().html(), encoding="utf-8")
        print(f"  page     {args.page}")
    right = accuracy(model, test_images, test_labels)
    print(f"  test     {right:.2%} of {len(test_images)} images read right")
    if right <= ENOUGH and args.epochs >= EPOCHS:
        sys.exit(f"the test accuracy is {right:.2%}, above {ENOUGH:.0%} was expected")


def head(images, labels, count):
    """Yields the first `count` batches."""
    return (batch for batch, _ in zip(batches(images, labels, count), range(count), strict=False))


def print_start(step, seconds):
    """Prints what passed before the compiled step ran at its usual speed."""
    usual = statistics.median(seconds)
    extra = sum(s for s in seconds[:5] if s > 3 * usual)
    counts = step.explain().counts
    print(f"  start    {IMPORTED + extra:.2f} s: import {IMPORTED:.2f} s, first steps {extra:.2f} s "
          f"({counts['built']} kernels built, {counts['reused']} from the cache)")


if __name__ == "__main__":
    main()
