/** What is known of one thing: names and values. A fact without a value is left out. */
import type { ReactNode } from "react";
import css from "./parts.module.css";

export function Facts({ facts }: { facts: Record<string, ReactNode> }) {
  return (
    <dl className={css.facts}>
      {Object.entries(facts).map(([name, value]) =>
        value === null || value === undefined || value === false || value === "" ? null : (
          <FactRow key={name} name={name}>
            {value}
          </FactRow>
        ),
      )}
    </dl>
  );
}

function FactRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
