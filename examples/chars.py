"""A small GPT that learns to write like Python's own help pages, letter by letter: compiled beside eager.

    python examples/chars.py                      # about half a minute
    python examples/chars.py --page report.html   # and what was compiled, kernels beside these lines

The text is `pydoc_data.topics`, which every Python carries.
"""

import argparse
import math
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
WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 96, 4, 3, 64, 16
STEPS, WARMUP, RATE, SEED = 500, 40, 3e-3, 0
ENOUGH = 2.2  # nats a letter, on text not trained on


class Block(nn.Module):
    """Attention and a two-layer network, each around a residual."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4).unbind(0)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.mix(seen.transpose(1, 2).reshape(batch, length, WIDTH)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    """Letters in, a score for each next letter out."""

    def __init__(self, letters):
        super().__init__()
        self.letter, self.place = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters, bias=False)
        self.head.weight = self.letter.weight  # tied
        nn.init.normal_(self.letter.weight, std=0.05)
        nn.init.normal_(self.place.weight, std=0.05)

    def forward(self, ids):
        x = self.letter(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def load():
    """Returns the letters in use, the text to train on and the text to test on, as numbers."""
    from pydoc_data.topics import topics

    text = "\n\n".join(topics[name] for name in sorted(topics))
    letters = sorted(set(text))
    number = {letter: n for n, letter in enumerate(letters)}
    ids = torch.tensor([number[letter] for letter in text])
    cut = len(ids) * 19 // 20
    return letters, ids[:cut], ids[cut:]


def make_model(letters):
    """Returns the network with the seed's weights."""
    torch.manual_seed(SEED)
    return GPT(len(letters))


def make_step(model, steps):
    """Returns one whole training step of `model`, as a plain function."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: rate(n, steps))

    def step(ids, following):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss

    return step


def rate(n, steps):
    """Returns the share of the learning rate at step n: up, then down along a cosine."""
    if n < WARMUP:
        return (n + 1) / WARMUP
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * (n - WARMUP) / max(1, steps - WARMUP)))


def batches(ids, count):
    """Yields stretches of the text and the same stretches one letter on."""
    draw = torch.Generator().manual_seed(SEED)
    for _ in range(count):
        starts = torch.randint(len(ids) - CONTEXT, (BATCH, 1), generator=draw)
        places = starts + torch.arange(CONTEXT)
        yield ids[places], ids[places + 1]


def run(step, data, bar):
    """Returns each batch's loss, and the seconds its step took."""
    losses, seconds = [], []
    for ids, following in data:
        begun = time.perf_counter()
        losses.append(step(ids, following).item())
        seconds.append(time.perf_counter() - begun)
        bar.advance(note=f"loss {losses[-1]:.4f}")
    return losses, seconds


def test_loss(model, ids, count=10):
    """Returns the mean loss on text that was not trained on."""
    model.eval()
    with torch.no_grad():
        losses = [F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item() for x, y in batches(ids, count)]
    model.train()
    return sum(losses) / len(losses)


def write(model, letters, prompt, count, heat=0.7):
    """Returns the prompt and `count` letters that the model adds to it."""
    number = {letter: n for n, letter in enumerate(letters)}
    ids = torch.tensor([[number[letter] for letter in prompt]])
    model.eval()
    with torch.no_grad():
        for _ in range(count):
            scores = model(ids[:, -CONTEXT:])[:, -1] / heat
            ids = torch.cat([ids, torch.multinomial(F.softmax(scores, -1), 1)], 1)
    model.train()
    return "".join(letters[n] for n in ids[0].tolist())


def print_both(eager, compiled, shown=(1, 2, 3, 5, 10, 20)):
    """Prints both runs' losses side by side, and by how much they differ."""
    print("\n  step   eager      compiled   difference")
    for n in shown:
        if n <= len(eager):
            print(f"  {n:4}   {eager[n - 1]:.6f}   {compiled[n - 1]:.6f}   {abs(eager[n - 1] - compiled[n - 1]):.1e}")
    largest = max(abs(a - b) for a, b in zip(eager, compiled, strict=False))
    print(f"  largest difference in {len(eager)} steps: {largest:.1e}\n")


def print_start(step, seconds):
    """Prints what passed before the compiled step ran at its usual speed."""
    usual = statistics.median(seconds)
    extra = sum(s for s in seconds[:5] if s > 3 * usual)
    counts = step.explain().counts
    print(f"  start    {IMPORTED + extra:.2f} s: import {IMPORTED:.2f} s, first steps {extra:.2f} s "
          f"({counts['built']} kernels built, {counts['reused']} from the cache)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--eager-steps", type=int, default=20, help="steps to run eagerly for comparison")
    parser.add_argument("--start", action="store_true", help="only take a few steps and say how long the start took")
    parser.add_argument("--page", type=Path, help="write what was compiled to this HTML file")
    args = parser.parse_args()

    letters, text, unseen = load()
    if args.start:
        step = torch.compile(make_step(make_model(letters), args.steps))
        print_start(step, run(step, batches(text, 8), Bar(8))[1])
        return
    model = make_model(letters)
    size = sum(p.numel() for p in model.parameters())
    print(f"{len(text):,} letters of text, {len(letters)} different ones; {size:,} parameters, {args.steps} steps")

    with Bar(args.eager_steps, "eager   ") as bar:
        eager, eager_seconds = run(make_step(model, args.steps), batches(text, args.eager_steps), bar)
    model = make_model(letters)  # the same weights again, and dropout draws the same numbers
    step = torch.compile(make_step(model, args.steps))
    with Bar(args.steps, "compiled") as bar:
        compiled, seconds = run(step, batches(text, args.steps), bar)
    print_both(eager, compiled)
    slow, fast = statistics.median(eager_seconds), statistics.median(seconds)
    print(f"  a step   eager {slow * 1e3:.1f} ms, compiled {fast * 1e3:.1f} ms: {slow / fast:.1f} times faster")
    print_start(step, seconds)
    if args.page:
        args.page.write_text(step.explain().html(), encoding="utf-8")
        print(f"  page     {args.page}")
    loss = test_loss(model, unseen)
    print(f"  test     {loss:.3f} nats a letter ({math.log(len(letters)):.3f} would be chance)")
    print("\n" + write(model, letters, "The ", 300) + "\n")
    if loss >= ENOUGH and args.steps >= STEPS:
        sys.exit(f"the test loss is {loss:.3f}, below {ENOUGH} was expected")


if __name__ == "__main__":
    main()
