/** The navigation of a narrow screen. In the chat it has the threads too, which come first. */
import { X } from "lucide-react";
import { Dialog } from "radix-ui";
import { type ReactNode, useState } from "react";
import { Button, IconButton } from "../ui/Button.tsx";
import dialog from "../ui/dialog.module.css";
import css from "./Shell.module.css";

export function Sheet({
  open,
  onOpen,
  threads,
  pages,
}: {
  open: boolean;
  onOpen: (open: boolean) => void;
  /** Only in the chat. */
  threads: ReactNode;
  pages: ReactNode;
}) {
  return (
    <Dialog.Root open={open} onOpenChange={onOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className={dialog.overlay} />
        <Dialog.Content className={css.sheet} aria-describedby={undefined}>
          {threads ? <Both threads={threads} pages={pages} onClose={() => onOpen(false)} /> : <Pages>{pages}</Pages>}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Both({ threads, pages, onClose }: { threads: ReactNode; pages: ReactNode; onClose: () => void }) {
  const [all, setAll] = useState(false);
  if (all) return <Pages>{pages}</Pages>;
  return (
    <>
      <Dialog.Title className="visually-hidden">Threads</Dialog.Title>
      <div className={css.sheetTop}>
        <Button look="quiet" onClick={() => setAll(true)}>
          All pages
        </Button>
        <IconButton label="Close the threads" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      <div className={css.sheetRest}>{threads}</div>
    </>
  );
}

function Pages({ children }: { children: ReactNode }) {
  return (
    <>
      <Dialog.Title className="visually-hidden">Pages</Dialog.Title>
      <nav className={css.sheetRest} aria-label="Pages">
        {children}
      </nav>
    </>
  );
}
