/** What flow control must do, in the plainest way: every question is answered by a look at all claims. */
import type { Claim } from "../../src/flow/book.ts";
import type { Limits, Need } from "../../src/flow/claim.ts";

const MINUTE = 60_000;

interface Known {
  claim: Claim;
  granted?: number;
  ended?: number;
  tokens: number;
}

export class Reference {
  readonly all: Known[] = [];
  /** The lanes in the order of their last grants, the latest last. */
  #turns: string[] = [];

  constructor(private readonly ruleLimits: (rule: string) => Limits | undefined) {}

  limits({ rule, limits }: Need): Limits {
    return limits ?? this.ruleLimits(rule) ?? {};
  }

  held(need: Need): Known[] {
    return this.#of(need).filter(({ granted, ended }) => granted !== undefined && ended === undefined);
  }

  starts(need: Need, now: number): number {
    return this.#of(need).filter(({ granted = -Infinity }) => granted > now - MINUTE).length;
  }

  tokens(need: Need, now: number): number {
    const ended = this.#of(need).filter(({ ended = -Infinity }) => ended > now - MINUTE);
    return ended.reduce((sum, { tokens }) => sum + tokens, 0);
  }

  /** The first claims of lanes with several needs that have waited to the highest level, and are not paused. */
  served(now: number): Claim[] {
    const waiting = this.all.filter(({ granted, ended }) => granted === undefined && ended === undefined);
    const several = waiting.map(({ claim }) => claim).filter(({ needs }) => needs.length > 1);
    const old = several.filter((claim) => levelOf(claim, now) === 9);
    const heads = old.filter((claim) => {
      return !several.some((one) => scoreOf(one) < scoreOf(claim) && laneOf(one) === laneOf(claim));
    });
    return heads.filter(({ needs }) => !needs.some((need) => this.limits(need).paused));
  }

  mayBegin(claim: Claim, now: number, first: Claim[]): boolean {
    return claim.needs.every((need) => {
      const kept = first.filter(
        (one) =>
          scoreOf(one) < scoreOf(claim) && one.needs.some(({ rule, key }) => rule === need.rule && key === need.key),
      ).length;
      const {
        paused,
        concurrency = Infinity,
        starts_per_minute = Infinity,
        tokens_per_minute = Infinity,
      } = this.limits(need);
      return (
        !paused &&
        this.held(need).length + kept < concurrency &&
        this.starts(need, now) + kept < starts_per_minute &&
        this.tokens(need, now) < tokens_per_minute &&
        (kept === 0 || tokens_per_minute === Infinity)
      );
    });
  }

  /** Grants what may begin, one after the other. The ids. */
  grant(now: number): string[] {
    const ids: string[] = [];
    for (;;) {
      const first = this.served(now);
      const able = this.all.filter(({ claim, granted, ended }) => {
        return granted === undefined && ended === undefined && this.mayBegin(claim, now, first);
      });
      const [next] = able.toSorted((a, b) => {
        const lanes = this.#turns.indexOf(laneOf(a.claim)) - this.#turns.indexOf(laneOf(b.claim));
        const scores = scoreOf(a.claim) - scoreOf(b.claim);
        if (laneOf(a.claim) === laneOf(b.claim)) return scores;
        return levelOf(b.claim, now) - levelOf(a.claim, now) || lanes || scores;
      });
      if (!next) return ids;
      next.granted = now;
      this.#turns = [...this.#turns.filter((lane) => lane !== laneOf(next.claim)), laneOf(next.claim)];
      ids.push(next.claim.runId);
    }
  }

  #of({ rule, key }: Need): Known[] {
    return this.all.filter(({ claim }) => claim.needs.some((one) => one.rule === rule && one.key === key));
  }
}

const levelOf = ({ due, priority }: Claim, now: number): number =>
  Math.min(9, Math.floor((now - due) / MINUTE) + priority);
const laneOf = ({ needs, turn }: Claim): string => JSON.stringify([needs, turn]);
const scoreOf = ({ due, priority }: Claim): number => due - priority * MINUTE;
