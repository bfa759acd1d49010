import { describe, expect, it } from "vitest";
import { createRegistry, isSingle, isTyping, type KeyPress, nameOf } from "./shortcuts";

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  metaKey: false,
  ctrlKey: false,
  altKey: false,
  isComposing: false,
  ...more,
});

describe("nameOf", () => {
  it("names ⌘ and Ctrl alike, whatever the case", () => {
    expect(nameOf(press("k", { metaKey: true }))).toBe("mod+k");
    expect(nameOf(press("K", { ctrlKey: true }))).toBe("mod+k");
  });

  it("takes a character as it was typed, so that ? works on every keyboard", () => {
    expect(nameOf(press("?"))).toBe("?");
    expect(nameOf(press("j"))).toBe("j");
  });

  it("leaves Alt chords and half-composed characters alone", () => {
    expect(nameOf(press("j", { altKey: true }))).toBeNull();
    expect(nameOf(press("j", { isComposing: true }))).toBeNull();
  });
});

describe("isSingle", () => {
  it("is what a settings switch turns off: one character, no chord, no named key", () => {
    expect(["j", "?", "/"].every(isSingle)).toBe(true);
    expect(["mod+k", "Escape", "ArrowLeft"].some(isSingle)).toBe(false);
  });
});

describe("isTyping", () => {
  const inside = (answer: object | null) => ({ closest: () => answer }) as unknown as EventTarget;

  it("asks the element whether it sits in a field", () => {
    expect(isTyping(inside({}))).toBe(true);
    expect(isTyping(inside(null))).toBe(false);
  });

  it("is false for targets that are no elements", () => {
    expect(isTyping(null)).toBe(false);
    expect(isTyping({} as EventTarget)).toBe(false);
  });
});

describe("createRegistry", () => {
  const named = (name: string) => Object.assign(() => {}, { called: name });

  it("lets the newest screen win a key, and gives it back when that screen goes", () => {
    const registry = createRegistry();
    const [below, above] = [named("below"), named("above")];
    registry.add("lists", () => ({ j: below }));
    const leave = registry.add("completions", () => ({ j: above }));
    expect(registry.find("j")).toBe(above);
    leave();
    expect(registry.find("j")).toBe(below);
  });

  it("passes over a screen that leaves the key undefined at the moment", () => {
    const registry = createRegistry();
    const below = named("below");
    registry.add("lists", () => ({ j: below }));
    registry.add("completions", () => ({ j: undefined }));
    expect(registry.find("j")).toBe(below);
  });

  it("answers only to what belongs to the dialog while one is open", () => {
    const registry = createRegistry();
    const [screen, dialog] = [named("screen"), named("dialog")];
    registry.add("lists", () => ({ j: screen, k: screen }));
    registry.add("completions", () => ({ j: dialog }), true);
    expect(registry.find("j", true)).toBe(dialog);
    expect(registry.find("k", true)).toBeUndefined();
  });
});
