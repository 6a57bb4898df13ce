/** What is known of one thing: names and values. A fact without a value is left out. */
import type { ReactNode } from "react";
import { exactTime, shortTime, soonTime } from "../ui/time.ts";
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

/** A time in a list: short, exact as its title. Nothing without a time. */
export function Time({ at, exact = false }: { at: string | null | undefined; exact?: boolean }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {exact ? exactTime(at) : shortTime(at)}
    </time>
  );
}

/** A time that is to come, day and clock. */
export function Ahead({ at }: { at: string | null }) {
  if (at === null) return null;
  return (
    <time dateTime={at} title={exactTime(at)}>
      {soonTime(at)}
    </time>
  );
}
