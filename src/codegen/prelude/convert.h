// td_convert<T>(x): one dtype to another. Floats become integers toward zero; what an integer cannot
// hold goes through the next wider conversion of the machine, as NumPy's astype does on x86.

TD int td_int_of(float x) { return x >= -0x1p31f && x < 0x1p31f ? (int)x : (-2147483647 - 1); }

TD int td_int_of(double x) { return x > -0x1.00000002p31 && x < 0x1p31 ? (int)x : (-2147483647 - 1); }

TD long td_long_of(float x) { return x >= -0x1p63f && x < 0x1p63f ? (long)x : (-0x7fffffffffffffffL - 1); }

TD long td_long_of(double x) { return x >= -0x1p63 && x < 0x1p63 ? (long)x : (-0x7fffffffffffffffL - 1); }

template <class T> struct td_tag {};

template <class T, class S> TD T td_cast(td_tag<T>, S x) { return (T)x; }

TD signed char td_cast(td_tag<signed char>, float x) { return (signed char)td_int_of(x); }
TD signed char td_cast(td_tag<signed char>, double x) { return (signed char)td_int_of(x); }
TD unsigned char td_cast(td_tag<unsigned char>, float x) { return (unsigned char)td_int_of(x); }
TD unsigned char td_cast(td_tag<unsigned char>, double x) { return (unsigned char)td_int_of(x); }
TD short td_cast(td_tag<short>, float x) { return (short)td_int_of(x); }
TD short td_cast(td_tag<short>, double x) { return (short)td_int_of(x); }
TD int td_cast(td_tag<int>, float x) { return td_int_of(x); }
TD int td_cast(td_tag<int>, double x) { return td_int_of(x); }
TD long td_cast(td_tag<long>, float x) { return td_long_of(x); }
TD long td_cast(td_tag<long>, double x) { return td_long_of(x); }

// as a byte: compilers do not vectorise widening a bool
template <class T> TD T td_cast(td_tag<T>, bool x) { return (T)__builtin_bit_cast(unsigned char, x); }
TD bool td_cast(td_tag<bool>, bool x) { return x; }

template <class S> TD bool td_cast(td_tag<bool>, S x) { return x != 0; }

template <class S> TD td_bf16 td_cast(td_tag<td_bf16>, S x) { return td_to_bf16((float)x); }
template <class S> TD td_f16 td_cast(td_tag<td_f16>, S x) { return td_to_f16((float)x); }
TD td_bf16 td_cast(td_tag<td_bf16>, bool x) { return td_to_bf16(td_cast(td_tag<float>(), x)); }
TD td_f16 td_cast(td_tag<td_f16>, bool x) { return td_to_f16(td_cast(td_tag<float>(), x)); }
TD td_f16 td_cast(td_tag<td_f16>, double x) { return td_to_f16(td_round_to_odd(x)); }

template <class T, class S> TD T td_convert(S x) { return td_cast(td_tag<T>(), x); }

template <class T> TD T td_convert(td_bf16 x) { return td_cast(td_tag<T>(), td_to_float(x)); }

template <class T> TD T td_convert(td_f16 x) { return td_cast(td_tag<T>(), td_to_float(x)); }
