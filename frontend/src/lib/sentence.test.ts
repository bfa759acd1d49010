import { expect, describe as group, it } from "vitest";
import { courseOf, describe, first, latest } from "./sentence";

const WORDS = { up: "Up", down: "Down" };
const points = (values: (number | null)[]) => ({ steps: values.map((_, i) => i + 1), values });
const ramp = (length: number, value: (i: number) => number) =>
  points(Array.from({ length }, (_, i) => value(i)));

group("describe", () => {
  it("says that nothing was measured", () => {
    expect(describe(undefined, WORDS)).toBe("No data yet.");
    expect(describe(points([null, null]), WORDS)).toBe("No data yet.");
  });

  it("names a single point", () => {
    expect(describe(points([null, 0.5]), WORDS)).toBe("0.5 at step 2.");
  });

  it("names both ends while there are few points", () => {
    expect(describe(points([0.5, 0.6, 0.7]), WORDS)).toBe("0.5 at step 1, 0.7 at step 3.");
  });

  it("tells a rise and since when it has been steady", () => {
    const sentence = describe(
      ramp(40, (i) => Math.min(1, i / 20)),
      WORDS,
    );
    expect(sentence).toMatch(/^Up from 0\.\d+ to 1; steady since step (1[89]|2[0-3])\.$/);
  });

  it("does not call a curve steady that still moves", () => {
    expect(
      describe(
        ramp(40, (i) => 100 - i),
        WORDS,
      ),
    ).toMatch(/^Down from 98\.5 to 62\.5\.$/);
  });

  it("tells a constant and a nearly constant curve", () => {
    expect(describe(points([0, 0, 0]), WORDS)).toBe("0 throughout.");
    expect(
      describe(
        ramp(20, (i) => 10 + (i % 2) * 0.2),
        WORDS,
      ),
    ).toBe("Steady around 10.1.");
  });

  it("does not read a trend into noise", () => {
    const noise = [3, -4, 2, -1, 4, -3, 1, -2, 3, -4, 2, -3, 4, -1, 1, -4, 3, -2, 2, -1];
    expect(describe(points(noise), WORDS)).toBe("Between −4 and 4.");
  });

  it("does not call a curve steady that swings around its level", () => {
    expect(
      describe(
        ramp(40, (i) => 300 + (i % 2 ? 1 : -1) * 150),
        WORDS,
      ),
    ).toBe("Between 150 and 450.");
  });

  it("does not call a curve steady that swings after its rise", () => {
    const sentence = describe(
      ramp(60, (i) => Math.min(1, i / 20) + (i % 2 ? 0.3 : -0.3)),
      WORDS,
    );
    expect(sentence).toMatch(/^Up from .*; since step \d+ between 0\.7 and 1\.3\.$/);
  });

  it("tells a level with few steps out of line", () => {
    const spikes = Array.from({ length: 60 }, (_, i) => (i === 20 || i === 40 ? 0.03 : 0));
    expect(describe(points(spikes), WORDS)).toBe("Mostly 0, at most 0.03.");
    expect(describe(points(spikes.map((value) => 1 - value)), WORDS)).toBe("Mostly 1, at least 0.97.");
  });

  it("spares the digits of values that are as good as 0", () => {
    const calm = { ...WORDS, calm: { below: 1e-3, text: "Nothing to see." } };
    const tiny = [3e-8, 1e-9, -4e-8, 2e-8, 7e-9, 1e-8];
    expect(describe(points(tiny), calm)).toBe("Nothing to see.");
    expect(describe(points([...tiny, 0.2]), calm)).not.toBe("Nothing to see.");
  });

  it("ignores holes", () => {
    expect(describe(points([null, 1, null, 1, null]), WORDS)).toBe("1 throughout.");
  });
});

group("the ends of a curve", () => {
  it("are means over a tenth, so that one noisy step does not count", () => {
    const noisy = ramp(40, (i) => 1 + (i % 2 ? 0.1 : -0.1) + i / 40);
    expect(courseOf(noisy)?.start).toBeCloseTo(1.04, 1);
  });

  it("begin where the curve began, however fast it left", () => {
    const collapse = points([0.5, 0.04, ...Array(58).fill(0)]);
    expect(describe(collapse, WORDS)).toMatch(/^Down from 0\.5 to 0; steady since step [4-7]\.$/);
    expect(courseOf(collapse)).toMatchObject({ start: 0.5, end: 0, clear: true });
  });

  it("of evaluations are the base and the last", () => {
    const evaluations = points([0.58, 0.9, 0.94, 0.95, 0.96, 0.96]);
    expect(describe(evaluations, { ...WORDS, exact: true })).toMatch(/^Up from 0\.58 to 0\.96/);
    expect(courseOf(points(Array.from({ length: 30 }, (_, i) => i)), true)).toMatchObject({
      start: 0,
      end: 29,
    });
  });

  it("are absent without a value", () => {
    expect(courseOf(points([null]))).toBeNull();
    expect(courseOf(points([1, 1]))?.clear).toBe(false);
  });
});

group("first and latest", () => {
  it("skip what was not measured", () => {
    const holes = points([null, 0.2, 0.4, null]);
    expect(first(holes)).toEqual({ step: 2, value: 0.2 });
    expect(latest(holes)).toEqual({ step: 3, value: 0.4 });
    expect(latest(points([null]))).toBeNull();
  });
});
