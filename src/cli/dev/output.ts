/** What of wrangler's output is the project's own: its `console` calls and Weir's errors. The rest is for the log file. */

/** Lines that wrangler prints about itself. */
const CHATTER = [
  /^\s*$/,
  /^ ?⛅️ wrangler/,
  /^─+$/,
  /^⎔ /,
  /^\[wrangler/,
  /^▲ \[WARNING\] (?!\{)/,
  /^Your Worker has access to the following bindings/,
  /^Binding +Resource +Mode/,
  /^env\.\w+ /,
  /^Using vars defined in /,
  /^Total Upload: /,
  /^Cloudflare collects anonymous telemetry/,
];

/** Gives the lines to show, from one line of wrangler's output at a time. */
export function ownOutput(): (line: string) => string | undefined {
  let isUp = false;
  return (line) => {
    if (line.startsWith("[wrangler:info] Ready on ")) isUp = true;
    if (!isUp || CHATTER.some((pattern) => pattern.test(line))) return undefined;
    return plain(line.replace(/^✘ \[ERROR\] |^▲ \[WARNING\] /, ""));
  };
}

/** Weir logs a fault as one line of JSON; a person reads its message. */
function plain(line: string): string {
  if (!line.startsWith("{")) return line;
  try {
    const { level, message } = JSON.parse(line) as { level?: string; message?: string };
    return level === "error" && typeof message === "string" ? message : line;
  } catch {
    return line;
  }
}
