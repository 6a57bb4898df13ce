/** What the project's own code and Weir log, as a person reads it. */

/** The message of a fault that Weir logs as one line of JSON; every other line as it is. */
export function stripColors(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const { level, message } = JSON.parse(line) as { level?: string; message?: string };
    return level === "error" && typeof message === "string" ? message : line;
  } catch {
    return line;
  }
}
