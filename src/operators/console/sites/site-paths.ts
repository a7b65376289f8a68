import type { Site } from "../../services/sites.ts";

/** The paths of a site's pages that link to each other. */

type Named = Pick<Site, "id">;

export const overviewPath = ({ id }: Named): string => `/console/sites/${id}`;
export const settingsPath = ({ id }: Named): string => `/console/sites/${id}/settings`;
export const retentionPath = ({ id }: Named): string => `/console/sites/${id}/retention`;
export const chatIdPath = ({ id }: Named): string => `/console/sites/${id}/first-chat-id`;
export const eventsOffPath = ({ id }: Named): string => `/console/sites/${id}/events/off`;
export const deletePath = ({ id }: Named): string => `/console/sites/${id}/delete`;
