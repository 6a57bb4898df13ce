/** The files that go with the message that is being written. */
import { FileText, Music, X } from "lucide-react";
import { IconButton } from "../../ui/IconButton.tsx";
import css from "./Composer.module.css";
import type { Media } from "../turn/media.ts";

export function Attachments({
  media,
  refused,
  onRemove,
}: {
  media: Media[];
  refused: string;
  onRemove: (at: number) => void;
}) {
  return (
    <>
      {refused !== "" && (
        <p className={css.refused} role="alert">
          {refused}
        </p>
      )}
      {media.length > 0 && (
        <ul className={css.attached} aria-label="Attachments">
          {media.map((one, i) => (
            // A file may be attached twice.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={i}>
              {one.kind === "image" ? (
                <img src={one.url} alt="" />
              ) : one.kind === "audio" ? (
                <Music size={16} aria-hidden />
              ) : (
                <FileText size={16} aria-hidden />
              )}
              <span title={one.name}>{one.name}</span>
              <IconButton label={`Remove ${one.name}`} onClick={() => onRemove(i)}>
                <X size={14} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
