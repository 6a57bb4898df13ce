/** A part of a page with a name, and a button for it. */
import { type ReactNode, useId } from "react";
import css from "./parts.module.css";

export function Section({ title, act, children }: { title: string; act?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className={css.section} aria-labelledby={id}>
      <div className={css.head}>
        <h2 id={id}>{title}</h2>
        {act}
      </div>
      {children}
    </section>
  );
}
