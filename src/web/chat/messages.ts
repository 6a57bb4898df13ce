/** Reads text, reasoning and images out of a message, whatever dialect its content is in. */
import type { RawMessage } from "../api/types.ts";

interface Block {
  type?: string;
  text?: string;
  reasoning?: string;
  thinking?: string;
}

function blocks(content: unknown): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as unknown[]).map(asBlock) : [];
}

function asBlock(part: unknown): Block {
  return typeof part === "string" ? { type: "text", text: part } : (part as Block);
}

export function textOf(message: Pick<RawMessage, "content">): string {
  return blocks(message.content)
    .filter((block) => block.type === "text" && typeof block.text === "string")
    .map((block) => block.text)
    .join("");
}

export function reasoningOf(message: Pick<RawMessage, "content">): string {
  return blocks(message.content)
    .map((block) => (block.type === "reasoning" ? block.reasoning : block.type === "thinking" ? block.thinking : ""))
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
