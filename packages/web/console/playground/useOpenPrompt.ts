/** Opens the commit of a prompt that the address names: `?prompt=<name>&commit=<hash or tag>`. */
import { useEffect, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { readPrompt } from "../../../../src/agents/prompts/chat-manifest.ts";
import { playFromPrompt } from "./from-prompt.ts";
import type { Play } from "./play.ts";
import { pull } from "./queries.ts";

/** Why the commit was not opened; empty where nothing failed. */
export function useOpenPrompt(open: (play: Play) => void): string {
  const [search, setSearch] = useSearchParams();
  const [trouble, setTrouble] = useState("");
  const name = search.get("prompt");
  const word = search.get("commit") ?? "latest";
  const latest = useRef(open);
  useEffect(() => {
    latest.current = open;
  });
  useEffect(() => {
    if (name === null) return undefined;
    const leave = new AbortController();
    void pull(name, word, leave.signal)
      .then(({ commit_hash: hash, manifest }) => {
        const prompt = readPrompt(manifest);
        if (!prompt) throw new Error(`${name} is no prompt with messages. It is not opened.`);
        latest.current(playFromPrompt(prompt, { name, hash }));
        // A reload keeps what was edited, and does not open the commit again.
        setSearch({}, { replace: true });
      })
      .catch((error: unknown) => {
        if (!leave.signal.aborted) setTrouble(error instanceof Error ? error.message : "The prompt did not load.");
      });
    return () => leave.abort();
  }, [name, word, setSearch]);
  return trouble;
}
