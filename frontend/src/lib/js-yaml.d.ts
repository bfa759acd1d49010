declare module "js-yaml" {
  /** The document as a JSON value. Throws an error with line and column. */
  export function load(text: string): unknown;
}
