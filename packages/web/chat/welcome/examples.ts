/** What an assistant says about itself in its metadata: langgraph.json sets it for a graph's default assistant. */
import type { Assistant } from "../../api/types.ts";

const MOST = 4;

/** `metadata.examples`: first messages to try. */
export function readExamples({ metadata }: Assistant): string[] {
  const { examples } = metadata ?? {};
  return Array.isArray(examples)
    ? examples.filter((one): one is string => typeof one === "string" && one !== "").slice(0, MOST)
    : [];
}

/** A text of the metadata, such as `title`. */
export function readWord({ metadata }: Assistant, name: string): string | undefined {
  const value = metadata?.[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
