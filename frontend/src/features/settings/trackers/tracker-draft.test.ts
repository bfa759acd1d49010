import { expect, test } from "vitest";
import { draftOf, isComplete, toChange, toTracker } from "./tracker-draft";

const draft = { ...draftOf(undefined), name: " team ", destination: "sums", entity: "lab", username: "ada" };

test("only what the kind has is sent", () => {
  expect(toTracker(draft)).toMatchObject({ name: "team", entity: "lab", username: null, url: null });
  const mlflow = toTracker({ ...draft, kind: "mlflow", url: "https://mlflow.example.org" });
  expect(mlflow).toMatchObject({ entity: null, username: "ada" });
});

test("a stored key stays if none is typed", () => {
  expect(toChange(draft)).not.toHaveProperty("api_key");
  expect(toChange({ ...draft, key: "new" })).toHaveProperty("api_key", "new");
});

test("MLflow needs its address, W&B has one", () => {
  expect(isComplete(draft)).toBe(true);
  expect(isComplete({ ...draft, kind: "mlflow" })).toBe(false);
});
