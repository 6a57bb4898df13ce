import { vi } from "vitest";

/** Runs a command: its exit code, and what it printed, the notes of the standard error last. */
export async function runPrinted(command: () => Promise<number>): Promise<[code: number, printed: string]> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const note = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    const code = await command();
    return [code, [...log.mock.calls, ...note.mock.calls].flat().join("\n")];
  } finally {
    log.mockRestore();
    note.mockRestore();
  }
}
