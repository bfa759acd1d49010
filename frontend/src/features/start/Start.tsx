import { Page } from "@/components/Page";

/** The first screen of a project. */
export function Start() {
  return <Page title="Start">{null}</Page>;
}
