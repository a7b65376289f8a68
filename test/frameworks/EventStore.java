import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Stores events in the folder SEEN. */
public class EventStore {
  public void store(String id, byte[] body) {
    try {
      Files.write(Path.of(System.getenv("SEEN"), id + ".json"), body, StandardOpenOption.CREATE_NEW);
    } catch (FileAlreadyExistsException error) {
      // It has the event already.
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
