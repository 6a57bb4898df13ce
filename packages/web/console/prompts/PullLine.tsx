import { Command } from "../../resources/states.tsx";

/** The line by which a program pulls a commit. */
export function PullLine({ name, word }: { name: string; word: string }) {
  return <Command text={`await client.pullPromptCommit("${name}:${word}");`} label="Copy the pull line" />;
}
