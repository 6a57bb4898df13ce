/** What opens from the header of a conversation: the assistants, and the context. */
import { Popover } from "radix-ui";
import { type ReactNode, useState } from "react";
import type { Assistant } from "../../api/types.ts";
import { AssistantList } from "./AssistantList.tsx";
import { ContextForm } from "./ContextForm.tsx";
import css from "./Header.module.css";

export function AssistantsPopover({
  trigger,
  assistants,
  current,
  begun,
  onChoose,
}: {
  trigger: ReactNode;
  assistants: Assistant[];
  current: Assistant;
  /** The thread has run: another assistant means another thread. */
  begun: boolean;
  onChoose: (assistant: Assistant) => void;
}) {
  const [open, setOpen] = useState(true);
  return (
    <Opened label="Assistants" trigger={trigger} open={open} onOpen={setOpen}>
      <AssistantList
        assistants={assistants}
        current={current}
        begun={begun}
        onChoose={(next) => {
          setOpen(false);
          if (next.assistant_id !== current.assistant_id) onChoose(next);
        }}
      />
    </Opened>
  );
}

export function ContextPopover({
  trigger,
  assistant,
  context,
  onContext,
}: {
  trigger: ReactNode;
  assistant: Assistant;
  context: Record<string, unknown>;
  onContext: (context: Record<string, unknown>) => void;
}) {
  const [open, setOpen] = useState(true);
  return (
    <Opened label="Context" trigger={trigger} open={open} onOpen={setOpen}>
      <ContextForm assistant={assistant} context={context} onContext={onContext} />
    </Opened>
  );
}

function Opened({
  label,
  trigger,
  open,
  onOpen,
  children,
}: {
  label: string;
  trigger: ReactNode;
  open: boolean;
  onOpen: (open: boolean) => void;
  children: ReactNode;
}) {
  return (
    <Popover.Root open={open} onOpenChange={onOpen}>
      <Popover.Trigger asChild>{trigger}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={css.popover} align="end" collisionPadding={8} aria-label={label}>
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
