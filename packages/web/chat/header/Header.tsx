import { ChevronDown, PanelLeft, SlidersHorizontal } from "lucide-react";
import type { ReactNode } from "react";
import type { Assistant } from "../../api/types.ts";
import { useFrame } from "../../app/view-props.ts";
import controls from "../../ui/controls.module.css";
import { IconButton } from "../../ui/Button.tsx";
import { usePressed } from "../../ui/on-demand.ts";
import css from "./Header.module.css";
import { threadTip } from "../thread-row.ts";

/** The title of the conversation, its assistant and its context. */
export function Header({
  threadId,
  title,
  assistant,
  assistants,
  context,
  onContext,
  onAssistant,
}: {
  threadId: string | undefined;
  title: string;
  assistant: Assistant;
  assistants: Assistant[];
  context: Record<string, unknown>;
  onContext: (context: Record<string, unknown>) => void;
  onAssistant: (assistant: Assistant) => void;
}) {
  const choosing = usePressed(loadAssistants, "dialog");
  const setting = usePressed(loadContext, "dialog");
  const changes = Object.keys(context).length;
  const assistantButton = (
    <button {...choosing.button} className={`${controls.button} ${controls.quiet} ${css.trigger}`}>
      <span className="visually-hidden">Assistant: </span>
      <span className={css.name}>{assistant.name}</span>
      <span className={css.version}>v{assistant.version}</span>
      <ChevronDown size={14} aria-hidden />
    </button>
  );
  const contextButton = (
    <button
      {...setting.button}
      className={`${controls.button} ${controls.quiet}`}
      aria-label={changes > 0 ? `Context, ${changes} changed` : "Context"}
      title="Context"
    >
      <SlidersHorizontal size={14} aria-hidden />
      <span className={css.wide}>Context</span>
      {changes > 0 && <span className={css.changes}>{changes}</span>}
    </button>
  );
  return (
    <header className={css.header}>
      <ThreadsButton />
      <h1 className={css.title} title={threadId === undefined ? title : threadTip(title, threadId)}>
        {title}
      </h1>
      {choosing.Opened ? (
        <choosing.Opened
          trigger={assistantButton}
          assistants={assistants}
          current={assistant}
          begun={threadId !== undefined}
          onChoose={onAssistant}
        />
      ) : (
        assistantButton
      )}
      {setting.Opened ? (
        <setting.Opened trigger={contextButton} assistant={assistant} context={context} onContext={onContext} />
      ) : (
        contextButton
      )}
    </header>
  );
}

const loadAssistants = async () => (await import("./HeaderPopovers.tsx")).AssistantsPopover;
const loadContext = async () => (await import("./HeaderPopovers.tsx")).ContextPopover;

function ThreadsButton() {
  const frame = useFrame();
  return (
    <IconButton label={frame.beside ? "Hide the threads" : "Show the threads"} onClick={frame.toggle}>
      <PanelLeft size={16} aria-hidden />
    </IconButton>
  );
}

/** The page where there is no conversation to show: the way to the others stays. */
export function Bare({ head, children }: { head?: ReactNode; children: ReactNode }) {
  return (
    <main className={css.bare}>
      <header className={css.header}>
        <ThreadsButton />
        {head}
      </header>
      {children}
    </main>
  );
}
