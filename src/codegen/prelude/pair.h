// Numbers as unevaluated sums h + l of two doubles, for intermediate results.

struct td_dd { double h, l; };

// a + b exactly, where |a| >= |b| or a == 0
TD td_dd td_fast_sum(double a, double b) { double s = a + b; td_dd r = {s, b - (s - a)}; return r; }

// a + b exactly
TD td_dd td_sum(double a, double b) {
  double s = a + b, t = s - a;
  td_dd r = {s, (a - (s - t)) + (b - t)};
  return r;
}

// a * b exactly
TD td_dd td_product(double a, double b) { double p = a * b; td_dd r = {p, td_fma(a, b, -p)}; return r; }

TD td_dd td_dd_mul(td_dd a, td_dd b) {
  td_dd p = td_product(a.h, b.h);
  return td_fast_sum(p.h, p.l + td_mad(a.h, b.l, a.l * b.h));
}

TD td_dd td_dd_add(td_dd a, td_dd b) {
  td_dd s = td_sum(a.h, b.h);
  return td_fast_sum(s.h, s.l + (a.l + b.l));
}

// the quotient without its last normalisation: h is n.h / d.h
TD td_dd td_dd_div(td_dd n, td_dd d) {
  double q = n.h / d.h;
  td_dd r = {q, (td_fma(-q, d.h, n.h) + td_mad(-q, d.l, n.l)) / d.h};
  return r;
}

// square root of h + l; 0 of 0
TD td_dd td_dd_sqrt(td_dd a) {
  double s = __builtin_sqrt(a.h);
  td_dd r = {s, s == 0 ? 0.0 : (td_fma(-s, s, a.h) + a.l) / (s + s)};
  return r;
}

// first + low + x * rest as a pair: the last step of a polynomial
TD td_dd td_last_step(double rest, double x, double first, double low) {
  td_dd p = td_product(rest, x), s = td_fast_sum(first, p.h);
  s.l += p.l + low;
  return s;
}
