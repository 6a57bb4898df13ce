/** Images, audio and files of a message. Embedded media are shown. Media at other addresses are loaded on request. */
import { FileText } from "lucide-react";
import { useState } from "react";
import css from "./media.module.css";
import type { Media } from "./media.ts";

export function MediaList({ media, own = false }: { media: Media[]; own?: boolean }) {
  if (media.length === 0) return null;
  return (
    <ul className={css.media} data-own={own || undefined}>
      {media.map((one, i) => (
        // The media of a message never change their order.
        // oxlint-disable-next-line react/no-array-index-key
        <li key={i}>
          <One media={one} />
        </li>
      ))}
    </ul>
  );
}

function One({ media: { kind, url, name } }: { media: Media }) {
  const [wanted, setWanted] = useState(false);
  const here = url?.startsWith("data:") ?? false;
  // The address of an image can carry data out, so the reader decides.
  if (url && !here && !wanted && kind === "image")
    return (
      <button type="button" className={css.offer} onClick={() => setWanted(true)} title={url}>
        Load image <span>from {URL.canParse(url) ? new URL(url).host : "an unknown host"}</span>
      </button>
    );
  if (url && kind === "image")
    return (
      <img
        className={css.image}
        src={url}
        alt={name === "image" ? "Attached image" : name}
        referrerPolicy="no-referrer"
      />
    );
  // There is no text of what is said in it.
  // oxlint-disable-next-line jsx-a11y/media-has-caption
  if (url && here && kind === "audio") return <audio className={css.audio} controls src={url} aria-label={name} />;
  const label = (
    <>
      <FileText size={16} aria-hidden /> <span>{name}</span>
    </>
  );
  if (!url) return <span className={css.file}>{label}</span>;
  return (
    <a
      className={css.file}
      href={url}
      {...(here ? { download: name } : { target: "_blank", rel: "noopener noreferrer" })}
    >
      {label}
    </a>
  );
}
