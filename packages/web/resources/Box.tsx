/** One of several things of a form, such as a channel or a judge, with its name and a button that removes it. */
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { IconButton } from "../ui/IconButton.tsx";
import css from "./parts.module.css";

export function Box({ title, onRemove, children }: { title: string; onRemove: () => void; children: ReactNode }) {
  return (
    <div className={css.box} role="group" aria-label={title}>
      <div className={css.boxHead}>
        {title}
        <IconButton label={`Remove ${title}`} onClick={onRemove}>
          <X size={16} aria-hidden />
        </IconButton>
      </div>
      {children}
    </div>
  );
}

/** What is seldom needed of a form. Open from the beginning when it holds something. */
export function More({ title, open, children }: { title: string; open: boolean; children: ReactNode }) {
  return (
    <details className={css.more} open={open}>
      <summary>{title}</summary>
      <div>{children}</div>
    </details>
  );
}
