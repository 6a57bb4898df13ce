/** Reads text, reasoning and images from a message in all dialects of its content. */
import type { RawMessage } from "../../api/types.ts";

type Block = Record<string, unknown>;

function blocks(content: unknown): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as unknown[]).map(asBlock) : [];
}

function asBlock(part: unknown): Block {
  return typeof part === "object" && part !== null ? (part as Block) : { type: "text", text: part };
}

const textIn = (value: unknown) => (typeof value === "string" ? value : "");

export function readText(message: Pick<RawMessage, "content">): string {
  return blocks(message.content)
    .map((block) => (block.type === "text" ? textIn(block.text) : ""))
    .join("");
}

export function readReasoning(message: Pick<RawMessage, "content">): string {
  return blocks(message.content)
    .map((block) => (block.type === "reasoning" ? textIn(block.reasoning) : ""))
    .concat(blocks(message.content).map((block) => (block.type === "thinking" ? textIn(block.thinking) : "")))
    .join("");
}

/** A tool's result as text to show: JSON is laid out, text stays as it is. */
export function resultText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "object" && parsed !== null ? JSON.stringify(parsed, null, 2) : value;
  } catch {
    return value;
  }
}
