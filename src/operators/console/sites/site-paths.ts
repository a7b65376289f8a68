import type { Site } from "../../services/sites.ts";

/** The paths of a site's pages that link to each other. */

type SiteWithId = Pick<Site, "id">;

export const overviewPath = ({ id }: SiteWithId): string => `/console/sites/${id}`;
export const settingsPath = ({ id }: SiteWithId): string => `/console/sites/${id}/settings`;
export const retentionPath = ({ id }: SiteWithId): string => `/console/sites/${id}/retention`;
export const chatIdPath = ({ id }: SiteWithId): string => `/console/sites/${id}/first-chat-id`;
export const eventsOffPath = ({ id }: SiteWithId): string => `/console/sites/${id}/events/off`;
export const deletePath = ({ id }: SiteWithId): string => `/console/sites/${id}/delete`;
