import { Braces, Database, Link2, MessageSquareText, Sparkles, Wrench } from "lucide-react";
import css from "./trace.module.css";

const ICONS: Record<string, typeof Link2> = {
  llm: Sparkles,
  tool: Wrench,
  retriever: Database,
  embedding: Database,
  prompt: MessageSquareText,
  parser: Braces,
};

/** What a run is, as an icon and in a word. `type` is in lower case. */
export function Kind({ type }: { type: string }) {
  const Icon = ICONS[type] ?? Link2;
  return (
    <span className={css.kind} title={type}>
      <Icon size={14} aria-hidden />
    </span>
  );
}
