ALTER TABLE `refusals` ADD `violations` text;
