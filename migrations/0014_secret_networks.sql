ALTER TABLE `nonces` ADD `client` text;--> statement-breakpoint
ALTER TABLE `usage` ADD `networks` text;