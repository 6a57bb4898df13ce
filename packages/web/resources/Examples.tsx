/** Things to begin with, where a list is empty. Each opens the form with its fields filled. */
import { Link } from "wouter";
import parts from "./parts.module.css";

export function Examples({
  path,
  examples,
}: {
  /** Of the form. */
  path: string;
  examples: Record<string, { title: string; text: string }>;
}) {
  return (
    <ul className={parts.examples} aria-label="Examples">
      {Object.entries(examples).map(([name, { title, text }]) => (
        <li key={name}>
          <Link href={`${path}?example=${name}`}>{title}</Link>
          <span>{text}</span>
        </li>
      ))}
    </ul>
  );
}
