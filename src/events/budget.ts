import type { Runtime } from "../core/runtime.ts";

/** Workers lets six calls of an invocation be in flight, and queues the others. */
const CALLS_AT_ONCE = 6;

/** The most homes of an invocation. Each home needs one place for suspect webhooks and one for the others, so that none waits for ever. */
export const MOST_HOMES = CALLS_AT_ONCE / 2;

/** The part of a home's places that its suspect webhooks share: two of six places, or one of two or three. */
const SUSPECT_PART = 1 / 3;

/** The part of a home's places that one site may have while another site waits. */
const SITE_PART = 1 / 2;

/**
 * Workers Free allows 50 calls per invocation: posts, batches of D1, and messages to the queue. Four of them are reserved for the last
 * calls.
 */
const MOST_CALLS = 46;

/**
 * The calls of an attempt: the post, the batch that records its result, and the message that notifies the queue of the next
 * attempt.
 */
const CALLS_OF_AN_ATTEMPT = 3;

/** The calls of the next turn: a batch and a message. No attempt may take them. */
const CALLS_OF_A_TURN = 2;

/**
 * For how long an invocation begins attempts. The last attempt must end and its result must be recorded before Workers stops the work
 * in `waitUntil`.
 */
const BEGIN_ATTEMPTS_MS = 8_000;

/** What the sharing of places needs to know about a webhook. */
export interface PlaceCandidate {
  siteId: number;
  /** How many attempts are in flight here. */
  inFlight: number;
  /**
   * Whether the webhook may hold its places for long: its newest ended delivery failed or took over 10 s, or none was answered yet.
   * Suspect webhooks share a few places. Undefined before the webhook's row was read.
   */
  isSuspect: boolean | undefined;
  /** Whether it is suspect only because no delivery was answered yet. */
  isNew: boolean;
  hasPing: boolean;
}

export interface Share {
  wanted: number;
  /** The most places for deliveries other than pings when the webhook is suspect. */
  whenSuspect: number;
}

/**
 * How many attempts one home of an invocation may begin. The places are shared fairly between sites and webhooks, so that a webhook
 * that hangs takes few of them.
 */
export class Budget {
  readonly #runtime: Pick<Runtime, "elapsed">;
  readonly #until: number;
  readonly #places: number;
  #freePlaces: number;
  #callsLeft: number;

  /** @param homes the number of homes that share the invocation; at most {@link MOST_HOMES} */
  constructor(runtime: Pick<Runtime, "elapsed">, homes: number) {
    this.#runtime = runtime;
    this.#until = runtime.elapsed() + BEGIN_ATTEMPTS_MS;
    this.#places = this.#freePlaces = Math.floor(CALLS_AT_ONCE / homes);
    this.#callsLeft = Math.floor(MOST_CALLS / homes);
  }

  /** How many attempts may be in flight at once. */
  get places(): number {
    return this.#places;
  }

  /** How long attempts may still begin, in milliseconds. */
  get timeLeft(): number {
    return Math.max(0, this.#until - this.#runtime.elapsed());
  }

  /** Whether no attempt may begin any more. */
  get isUsedUp(): boolean {
    return this.#callsLeft < CALLS_OF_AN_ATTEMPT + CALLS_OF_A_TURN || this.timeLeft === 0;
  }

  /**
   * Shares the free places between webhooks, but does not take them. Webhooks with a ping come first, then one new webhook, because most
   * receivers are sound, then all others in the given order. Each webhook gets a turn, in this invocation or a later one, because served
   * webhooks go to the end of the order, and nothing is in flight when an invocation begins.
   *
   * @param all the webhooks that still need places
   * @returns the share of each of them that gets a place
   */
  share<Each extends PlaceCandidate>(all: readonly Each[]): Map<Each, Share> {
    const shares = new Map<Each, Share>();
    if (this.isUsedUp) return shares;
    const suspects = all.filter(({ isSuspect }) => isSuspect);
    const otherCount = all.length - suspects.length;
    const suspectPlaces = shareOfPlaces(this.#places, SUSPECT_PART);
    const keptForSuspects = Math.min(suspectPlaces, suspects.length);
    const placesPerSuspect = shareOfPlaces(suspectPlaces, 1 / suspects.length);
    const placesPerOther = shareOfPlaces(this.#places - keptForSuspects, 1 / otherCount);
    const placesPerOtherWhenSuspect = shareOfPlaces(suspectPlaces, 1 / otherCount);
    let free = Math.min(this.#freePlaces, Math.floor((this.#callsLeft - CALLS_OF_A_TURN) / CALLS_OF_AN_ATTEMPT));
    let freeForSuspects = suspectPlaces - inFlightOf(suspects);
    // With pings, suspects may have more than their part, but not the last place while others need one.
    let freeForSuspectsAndPings = this.#places - Math.min(1, otherCount) - inFlightOf(suspects);
    // The other webhooks may turn out to be suspect too. Known suspects may take all these places.
    let freeForOthers = suspects.length > 0 ? 0 : suspectPlaces;
    const newWebhooks = all.filter(({ isNew }) => isNew);
    // Only one new webhook comes first, and only where suspects have two places. Otherwise new webhooks could keep back suspects for ever.
    const first = suspectPlaces > 1 && inFlightOf(newWebhooks) === 0 ? newWebhooks[0] : undefined;
    const rankOf = (each: Each) => (each.hasPing ? 0 : each === first ? 1 : 2);
    for (const each of all.toSorted((a, b) => rankOf(a) - rankOf(b))) {
      const fairShare = each.isSuspect
        ? Math.min(placesPerSuspect - each.inFlight, freeForSuspects)
        : placesPerOther - each.inFlight;
      // Suspects wait for each other when no place for suspects is free.
      const waitingWebhooks = all.filter(
        ({ isSuspect, inFlight }) => inFlight === 0 && !(isSuspect && freeForSuspects <= 0),
      );
      const othersWait = waitingWebhooks.some(({ siteId }) => siteId !== each.siteId);
      const fitting = Math.min(free, othersWait ? this.#freeForSite(each.siteId, all, shares) : this.#places);
      const mostPlaces = each.isSuspect ? Math.min(fitting, freeForSuspectsAndPings) : fitting;
      const wanted = Math.min(Math.max(fairShare, each.hasPing ? 1 : 0), mostPlaces);
      if (wanted <= 0) continue;
      const whenSuspect = each.isSuspect
        ? Math.min(wanted, Math.max(0, freeForSuspects))
        : Math.min(wanted, placesPerOtherWhenSuspect, Math.max(0, freeForOthers));
      shares.set(each, { wanted, whenSuspect });
      free -= wanted;
      if (each.isSuspect) {
        freeForSuspects -= Math.min(wanted, Math.max(0, fairShare));
        freeForSuspectsAndPings -= wanted;
      } else freeForOthers -= whenSuspect;
    }
    return shares;
  }

  /** How many more places a site may have while another site waits. */
  #freeForSite<Each extends PlaceCandidate>(siteId: number, all: readonly Each[], shares: Map<Each, Share>): number {
    const webhooksOfSite = all.filter((each) => each.siteId === siteId);
    const takenPlaces = webhooksOfSite.reduce(
      (sum, each) => sum + (shares.get(each)?.wanted ?? 0),
      inFlightOf(webhooksOfSite),
    );
    return shareOfPlaces(this.#places, SITE_PART) - takenPlaces;
  }

  /**
   * Takes places for new attempts. A database call uses the place of an attempt that has ended, so attempts and calls together never
   * exceed the limit.
   */
  take(places: number): void {
    this.#freePlaces -= places;
    this.#callsLeft -= CALLS_OF_AN_ATTEMPT * places;
  }

  /** Gives back places that were taken but not used. */
  giveBack(places: number): void {
    this.#freePlaces += places;
    this.#callsLeft += CALLS_OF_AN_ATTEMPT * places;
  }

  /** Counts one batch of D1, or one message to the queue. */
  call(): void {
    this.#callsLeft -= 1;
  }

  /**
   * Frees the place of an attempt that has ended, and gives back its other two calls. Those calls are counted when they are made, once
   * for several attempts.
   */
  end(): void {
    this.#freePlaces += 1;
    this.#callsLeft += CALLS_OF_AN_ATTEMPT - 1;
  }
}

/** A part of the places, at least one place. */
const shareOfPlaces = (places: number, ratio: number): number => Math.max(1, Math.floor(places * ratio));

const inFlightOf = (webhooks: readonly PlaceCandidate[]): number =>
  webhooks.reduce((sum, { inFlight }) => sum + inFlight, 0);
