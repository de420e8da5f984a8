import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.acl.plain.PlainAccessResource;
import org.apache.rocketmq.acl.plain.RemoteAddressStrategy;
import org.apache.rocketmq.acl.plain.RemoteAddressStrategyFactory;

/** Reads lines of an entry of a white list, a tab and an address; prints for each true, false or refused. */
public class WhiteLists {
    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        RemoteAddressStrategyFactory factory = new RemoteAddressStrategyFactory();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            System.out.println(matches(factory, words[0], words[1]));
        }
    }

    private static String matches(RemoteAddressStrategyFactory factory, String entry, String address) {
        try {
            RemoteAddressStrategy strategy = factory.getRemoteAddressStrategy(entry);
            PlainAccessResource sender = new PlainAccessResource();
            sender.setWhiteRemoteAddress(address);
            return String.valueOf(strategy.match(sender));
        } catch (RuntimeException refused) {
            return "refused";
        }
    }
}
