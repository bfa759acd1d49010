import { expect, it } from "vitest";
import { idFrom } from "./model-id";

it.each([
  ["hub:Qwen/Qwen3-0.6B@main", "qwen3-0.6b"],
  ["/models/My Model_v2/", "my-model-v2"],
  ["C:\\models\\tiny", "tiny"],
  ["", ""],
])("guesses an id from %s", (source, id) => expect(idFrom(source)).toBe(id));
