/** An error in words: its message, also where the message is JSON with one inside. */
export function errorText(error: unknown): string {
  const text =
    error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error, null, 2);
  try {
    const inner = JSON.parse(text) as { message?: unknown; detail?: unknown };
    const words = inner.message ?? inner.detail;
    return typeof words === "string" ? words : text;
  } catch {
    return text;
  }
}
