/**
 * Resampled means, the very ones of the server and of `reinforge gate`: CPython's `random.Random(seed).choices`, which is
 * the Mersenne twister MT19937 (Matsumoto & Nishimura 1998) with 53-bit fractions.
 */

const N = 624;
const M = 397;
const UPPER = 0x80000000;
const LOWER = 0x7fffffff;

function start(seed: number): Uint32Array {
  const state = new Uint32Array(N);
  state[0] = 19650218;
  for (let i = 1; i < N; i += 1) {
    const last = state[i - 1] as number;
    state[i] = Math.imul(1812433253, last ^ (last >>> 30)) + i;
  }
  let i = 1;
  for (let k = 0; k < N; k += 1) {
    const last = state[i - 1] as number;
    state[i] = ((state[i] as number) ^ Math.imul(last ^ (last >>> 30), 1664525)) + seed;
    i += 1;
    if (i >= N) {
      state[0] = state[N - 1] as number;
      i = 1;
    }
  }
  for (let k = 0; k < N - 1; k += 1) {
    const last = state[i - 1] as number;
    state[i] = ((state[i] as number) ^ Math.imul(last ^ (last >>> 30), 1566083941)) - i;
    i += 1;
    if (i >= N) {
      state[0] = state[N - 1] as number;
      i = 1;
    }
  }
  state[0] = UPPER;
  return state;
}

/** Fractions in [0, 1), as `random.Random(seed).random()` gives them; `seed`: a whole number below 2³². */
export function twister(seed: number): () => number {
  const state = start(seed);
  let at = N;
  const turn = () => {
    for (let i = 0; i < N; i += 1) {
      const mixed = ((state[i] as number) & UPPER) | ((state[(i + 1) % N] as number) & LOWER);
      state[i] = (state[(i + M) % N] as number) ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
    }
    at = 0;
  };
  const next = () => {
    if (at >= N) turn();
    let y = state[at] as number;
    at += 1;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    return (y ^ (y >>> 18)) >>> 0;
  };
  return () => {
    const high = next() >>> 5;
    const low = next() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  };
}

export const RESAMPLES = 2000;

const mean = (values: ArrayLike<number>) => {
  let sum = 0;
  for (let i = 0; i < values.length; i += 1) sum += values[i] as number;
  return sum / values.length;
};

/** Means of resamples of the values, ascending; the same for the same values. */
export function resampled(values: readonly number[], resamples = RESAMPLES): Float64Array {
  const random = twister(0);
  const count = values.length;
  const means = new Float64Array(resamples);
  for (let n = 0; n < resamples; n += 1) {
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += values[Math.floor(random() * count)] as number;
    means[n] = sum / count;
  }
  return means.sort();
}

export type Estimate = { value: number; low: number; high: number };

const bound = (means: ArrayLike<number>, confidence: number) =>
  means[Math.min(means.length - 1, Math.floor(means.length * (1 - confidence)))] as number;

/** The mean with the middle 95 % of its resamples. Null without values. */
export function estimate(values: readonly number[]): Estimate | null {
  if (values.length === 0) return null;
  const means = resampled(values);
  return { value: mean(values), low: bound(means, 0.975), high: bound(means, 0.025) };
}
