/** The state of a run or a thread: a shape, a colour and a word. */
import css from "./state.module.css";

const STATES: Record<string, { look: string; word: string }> = {
  idle: { look: "none", word: "idle" },
  busy: { look: "running", word: "running" },
  running: { look: "running", word: "running" },
  pending: { look: "running", word: "pending" },
  interrupted: { look: "waiting", word: "waiting" },
  success: { look: "done", word: "success" },
  error: { look: "failed", word: "failed" },
  timeout: { look: "failed", word: "timeout" },
};

export function State({ state, word }: { state: string; word?: string }) {
  const known = STATES[state.toLowerCase()] ?? { look: "none", word: state };
  return (
    <span className={css.state}>
      <span className={css.glyph} data-look={known.look} aria-hidden />
      <span className={css.word}>{word ?? known.word}</span>
    </span>
  );
}
