/** The link from an item to the list that it is of. On a phone the name is for screen readers only: the title needs the width. */
import { ChevronLeft } from "lucide-react";
import { Link } from "wouter";
import controls from "../ui/controls.module.css";
import css from "./page.module.css";

export function Back({ href, name }: { href: string; name: string }) {
  return (
    <Link href={href} className={`${controls.button} ${controls.quiet} ${css.back}`} aria-label={name}>
      <ChevronLeft size={14} aria-hidden /> <span>{name}</span>
    </Link>
  );
}
