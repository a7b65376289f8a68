import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.web.context.support.GenericWebApplicationContext;
import org.springframework.web.servlet.DispatcherServlet;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerAdapter;
import org.springframework.web.servlet.mvc.method.annotation.RequestMappingHandlerMapping;

/** Serves the controller of docs/receiving.md with Spring MVC and Jetty. Debian has no Spring Boot. */
public class ServeSpring {
  public static void main(String[] arguments) throws Exception {
    GenericWebApplicationContext context = new GenericWebApplicationContext();
    RootBeanDefinition controller = new RootBeanDefinition(EventController.class);
    controller.getConstructorArgumentValues().addGenericArgumentValue(new EventStore());
    context.registerBeanDefinition("controller", controller);
    context.registerBeanDefinition("mapping", new RootBeanDefinition(RequestMappingHandlerMapping.class));
    context.registerBeanDefinition("adapter", new RootBeanDefinition(RequestMappingHandlerAdapter.class));
    DispatcherServlet dispatcher = new DispatcherServlet(context);
    ServletHolder holder = new ServletHolder(dispatcher);
    holder.setInitOrder(1);
    ServletContextHandler handler = new ServletContextHandler();
    handler.addServlet(holder, "/");
    Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))));
    server.setHandler(handler);
    try {
      server.start();
    } catch (Exception error) {
      error.printStackTrace();
      System.exit(1);
    }
  }
}
