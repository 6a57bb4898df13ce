/** Names and values of one thing. A field without a value is left out. */
import { type ReactNode, useId } from "react";
import css from "./parts.module.css";

export function Fields({ fields }: { fields: Record<string, ReactNode> }) {
  return (
    <dl className={css.facts}>
      {Object.entries(fields).map(([name, value]) =>
        value === null || value === undefined || value === false || value === "" ? null : (
          <FieldRow key={name} name={name}>
            {value}
          </FieldRow>
        ),
      )}
    </dl>
  );
}

function FieldRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A fact of a page's grid of facts: `<dl className={work.facts}>`. */
export function Field({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A part of a page with a name, and a button for it. */
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
